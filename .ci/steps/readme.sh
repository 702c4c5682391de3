#!/usr/bin/env bash
# README.md and the first page of docs/ work as they are written, from nothing.
. .ci/lib.sh

scripts/readme.sh
