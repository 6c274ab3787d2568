#!/bin/sh
# Pinot's administrator: the same arguments and the same JAVA_OPTS as the official image's entry point.
# Runs in the image, and on the host with PINOT_HOME and JAVA_HOME set.
set -eu
home=${PINOT_HOME:-/opt/pinot}
# JAVA_OPTS holds several options: it is split on purpose.
# shellcheck disable=SC2086
exec "${JAVA_HOME:-/opt/java}/bin/java" "@$home/etc/jvm.options" ${JAVA_OPTS:--Xmx512m} \
    "-Dlog4j2.configurationFile=$home/etc/log4j2.xml" "@$home/etc/class-path.options" \
    org.apache.pinot.tools.admin.PinotAdministrator "$@"
