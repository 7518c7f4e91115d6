#!/bin/sh
# Adjust tonight's scores with the map that was signed off, then check the gap of those whose outcomes are known.
# The exit code is that of the first command that fails; standard error has one JSON object a line.
#   map.json, map.json.sha256   the map, and what `sha256sum map.json` printed when it was signed off
#   in/scores.csv               tonight's rows
#   in/outcomes.csv             adjusted rows whose outcomes are known by now, if there are any
set -eu
cd "${FAIRPOT_FOLDER:-/srv/fairpot}"
known=$(cut -c1-64 map.json.sha256)

fairpot apply map.json in/scores.csv -o out/adjusted.csv --changes out/changes.csv --force \
  --expect-sha256 "$known" --no-settings --quiet --log-format json

if [ -e in/outcomes.csv ]; then
  fairpot audit in/outcomes.csv --score score_adjusted --bound "${FAIRPOT_BOUND:-0.05}" --require within \
    --no-settings --quiet --log-format json
fi
