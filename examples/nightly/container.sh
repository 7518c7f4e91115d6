#!/bin/sh
# The nightly run in a container: not root, a file system that cannot be written to, no network.
# ENGINE is podman or docker; the image comes from `podman build -t fairpot .` in a checkout.
set -eu
folder=${FAIRPOT_FOLDER:-/srv/fairpot}
exec "${ENGINE:-podman}" run --rm --read-only --tmpfs /tmp --cap-drop all --security-opt no-new-privileges --network none \
  --user "$(id -u):$(id -g)" --memory 3g --volume "$folder":/data --env FAIRPOT_FOLDER=/data \
  --volume "$(dirname "$0")/nightly.sh":/nightly.sh:ro --entrypoint /nightly.sh "${FAIRPOT_IMAGE:-fairpot}"
