#!/bin/sh
# kafka.sh start CONFIG: one Kafka node (KRaft); its storage is formatted at the first start.
# kafka.sh run CLASS [ARGUMENT...]: one of Kafka's command-line tools.
# Runs in the image, and on the host with KAFKA_HOME and JAVA_HOME set.
set -eu
home=${KAFKA_HOME:-/opt/kafka}

java() {
    # JAVA_OPTS holds several options: it is split on purpose.
    # shellcheck disable=SC2086
    $before "${JAVA_HOME:-/opt/java}/bin/java" ${JAVA_OPTS:--Xmx256m} \
        "-Dlog4j2.configurationFile=$home/etc/log4j2.xml" "@$home/etc/class-path.options" "$@"
}

what=$1
shift
before=
case $what in
run)
    before=exec
    java "$@"
    ;;
start)
    java kafka.tools.StorageTool format --ignore-formatted --cluster-id "${KAFKA_CLUSTER_ID:-MkU3OEVBNTcwNTJENDM2Qg}" \
        --config "$1"
    before=exec
    java kafka.Kafka "$1"
    ;;
*)
    echo "kafka.sh: expected start or run, found $what" >&2
    exit 2
    ;;
esac
