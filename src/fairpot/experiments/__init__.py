"""The paper's tables and figures, rerun: plan -> run -> records -> tables, figures and the page of claims."""
