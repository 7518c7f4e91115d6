"""Worker processes and files of records: what runs tasks and survives being killed."""
