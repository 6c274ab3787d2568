"""A ZooKeeper that requires TLS, SASL and ACLs: who can connect, and what others may do with the znodes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from kazoo.client import KazooClient
from kazoo.security import ACL

from controller_client.common.names import TableName
from controller_client.config import Secret, Tls
from controller_client.errors import AuthError, UnreachableError
from controller_client.zookeeper import PropertyStore, TableLock, ZNRecord
from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from tests.integration.jvm_bridge import child
from tests.integration.zookeeper.secure_server import (
    PASSWORD,
    USER,
    Certificates,
    SecureZooKeeper,
    secure_zookeeper,
)
from tests.support.tiers import FULL

pytestmark = [
    pytest.mark.jvm,
    # kazoo does not close a socket on which the handshake failed; what it logged refers to it until later.
    pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning"),
]

CLUSTER = "Secure"


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureZooKeeper]:
    with secure_zookeeper(tmp_path_factory.mktemp("secure")) as running:
        yield running
    gc.collect()  # its sockets here, where their warning is ignored


def by_certificate(files: Certificates) -> ZooKeeperAccess:
    tls = Tls(str(files.authority), str(files.client), str(files.client_key))
    return ZooKeeperAccess(tls=tls, acl="creator")


def by_password(kind: AuthKind, password: str = PASSWORD, acl: str = "creator") -> ZooKeeperAccess:
    return ZooKeeperAccess(auth=kind, username=USER, password=Secret(password), acl=acl)


def make_cluster(address: str, access: ZooKeeperAccess) -> PropertyStore:
    """A store in a chroot of its own, with what a controller makes there."""
    chroot = f"/company-{uuid4().hex[:8]}/pinot"
    root = ZooKeeperConnection(address, access=access, timeout_s=30.0)
    root.create(chroot, b"")
    root.close()
    store = PropertyStore(f"{address}{chroot}", CLUSTER, access=access, timeout_s=30.0)
    store.connection.create(f"/{CLUSTER}/PROPERTYSTORE/CONFIGS/TABLE", b"")
    return store


def acls_below(kazoo: KazooClient, path: str) -> dict[str, list[ACL]]:
    found = {path: kazoo.get_acls(path)[0]}
    for name in kazoo.get_children(path):
        found |= acls_below(kazoo, f"{path.rstrip('/')}/{name}")
    return found


@pytest.mark.parametrize("way", ["certificate", AuthKind.SASL_DIGEST, AuthKind.DIGEST])
def test_everything_created_belongs_to_its_creator(zookeeper: SecureZooKeeper, way: str) -> None:
    address = zookeeper.tls_address if way == "certificate" else zookeeper.address
    access = by_certificate(zookeeper.certificates) if way == "certificate" else by_password(AuthKind(way))
    with make_cluster(address, access) as store:
        store.create("/a/b", ZNRecord(id="b"))
        store.change("/a/b", lambda record: record)
        store.change("/a/c", lambda _record: ZNRecord(id="c"))
        with TableLock(store, TableName("t_OFFLINE"), "locked", "me"):
            acls = acls_below(store.connection.kazoo(), "/")
    # The root is that of the chroot.
    assert {f"/{CLUSTER}/PROPERTYSTORE/a/b", f"/{CLUSTER}/PROPERTYSTORE/a/c"} < acls.keys()
    scheme = {"certificate": "x509", AuthKind.SASL_DIGEST: "sasl", AuthKind.DIGEST: "digest"}[way]
    assert {(acl.id.scheme, acl.perms) for each in acls.values() for acl in each} == {(scheme, 31)}
    chroot = store.zookeeper_address.partition("/")[2]
    stranger = PropertyStore(f"{zookeeper.address}/{chroot}", CLUSTER, access=ZooKeeperAccess())
    # Newer versions of ZooKeeper do not even reveal that there is a cluster.
    with pytest.raises(AuthError, match="ZooKeeper refused access"), stranger:
        stranger.get("/a/b")
    stranger.close()


def test_others_may_read_where_the_acl_says_so(zookeeper: SecureZooKeeper) -> None:
    access = by_password(AuthKind.SASL_DIGEST, acl="creator+read")
    with make_cluster(zookeeper.address, access) as store:
        store.create("/a", ZNRecord(id="a"))
        with PropertyStore(store.zookeeper_address, CLUSTER, access=ZooKeeperAccess()) as stranger:
            found = stranger.get("/a")
            assert found is not None
            with pytest.raises(AuthError, match="ZooKeeper refused access"):
                stranger.set("/a", ZNRecord(id="a"), found.version)


def test_a_wrong_password_is_reported(zookeeper: SecureZooKeeper) -> None:
    wrong = by_password(AuthKind.SASL_DIGEST, password="wrong-password")
    with pytest.raises(AuthError, match="does not accept the user pinot") as caught:
        PropertyStore(zookeeper.address, CLUSTER, access=wrong).__enter__()
    assert "wrong-password" not in str(caught.value)


@pytest.mark.parametrize(
    ("authority", "has_certificate", "text"),
    [
        ("stranger", True, "CERTIFICATE_VERIFY_FAILED"),
        pytest.param("authority", False, "(?i)certificate", marks=FULL),
    ],
)
def test_a_refused_certificate_is_reported(
    zookeeper: SecureZooKeeper, authority: str, has_certificate: bool, text: str
) -> None:
    files = zookeeper.certificates
    own = (str(files.client), str(files.client_key)) if has_certificate else ()
    access = ZooKeeperAccess(tls=Tls(str(getattr(files, authority)), *own))
    with pytest.raises(UnreachableError, match=text):
        PropertyStore(zookeeper.tls_address, CLUSTER, access=access, timeout_s=5.0).__enter__()


_JAVA = """
import json, tempfile
from pathlib import Path
from controller_client.zookeeper_access import ZooKeeperAccess
from jvm_bridge.jvm import start_jvm
from jvm_bridge.zookeeper_client import configure_java
start_jvm(max_heap_mb=128)
configure_java(ZooKeeperAccess.from_env())
import jpype
client = jpype.JClass("org.apache.helix.zookeeper.impl.client.ZkClient")({address!r}, 30000, 60000)
acl = jpype.JClass("org.apache.zookeeper.ZooDefs$Ids").CREATOR_ALL_ACL
client.createPersistent("/java-{name}", None, acl)
client.close()
print(json.dumps(len(list(Path(tempfile.gettempdir()).glob("pinot-zookeeper-*")))))
"""


_EXIT = "from jvm_bridge.shutdown import exit_process; exit_process(0)\n"


@pytest.mark.parametrize(("way", "end"), [("x509", ""), ("sasl", _EXIT)])
def test_java_connects_with_the_same_settings_and_leaves_no_file_of_secrets(
    zookeeper: SecureZooKeeper, tmp_path: Path, way: str, end: str
) -> None:
    """Neither when Python ends, nor when Java does, as by a signal to a hosted role."""
    files = zookeeper.certificates
    variables = {
        "x509": {
            "CA_FILE": str(files.authority),
            "CLIENT_CERT_FILE": str(files.client),
            "CLIENT_KEY_FILE": str(files.client_key),
        },
        "sasl": {"AUTH": "sasl-digest", "USERNAME": USER, "PASSWORD": PASSWORD},
    }[way]
    address = zookeeper.tls_address if way == "x509" else zookeeper.address
    environment = {f"PINOT_ZOOKEEPER_{name}": text for name, text in variables.items()}
    name = uuid4().hex[:8]
    code = _JAVA.format(address=address, name=name) + end
    assert child.result(code, env={**environment, "TMPDIR": str(tmp_path)}) == 1
    assert list(tmp_path.glob("pinot-zookeeper-*")) == []
    made_by = ZooKeeperAccess.from_env(environment)
    with closing(ZooKeeperConnection(address, access=made_by)) as connection:
        acls, _ = connection.kazoo().get_acls(f"/java-{name}")
    assert [acl.id.scheme for acl in acls] == [way]
