"""Prints, as JSON, the names of all beans of a JVM and the values of its gauges; run as a child process.

Arguments: host and port of the JVM's JMX.
"""

from __future__ import annotations

import json
import sys

import jpype

from jvm_bridge.jdk import find_java


def main() -> None:
    host, port = sys.argv[1:]
    jpype.startJVM(jvmpath=find_java().jvm_library, convertStrings=False)
    url = jpype.JClass("javax.management.remote.JMXServiceURL")(
        f"service:jmx:rmi:///jndi/rmi://{host}:{port}/jmxrmi"
    )
    connector = jpype.JClass("javax.management.remote.JMXConnectorFactory").connect(url)
    connection = connector.getMBeanServerConnection()
    found = {}
    for name in connection.queryNames(None, None):
        attributes = [str(each.getName()) for each in connection.getMBeanInfo(name).getAttributes()]
        value = str(connection.getAttribute(name, "Value")) if attributes == ["Value"] else None
        found[str(name.getCanonicalName())] = value
    connector.close()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
