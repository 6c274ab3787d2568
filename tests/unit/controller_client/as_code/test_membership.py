from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.as_code.membership import (
    instance_documents,
    members,
    tags_with_members,
    tags_with_others,
)
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.as_code.refusals import emptied_tenant
from controller_client.as_code.wanted import Target

_TAGS = {
    "Broker_h_1": ["DefaultTenant_BROKER"],
    "Server_h_2": ["DefaultTenant_OFFLINE", "DefaultTenant_REALTIME", "rack7"],
    "Server_h_3": ["Fast_OFFLINE"],
    "Server_h_4": ["server_untagged"],
    "Minion_h_5": ["minion_untagged"],
}


def test_each_tag_is_in_one_document() -> None:
    assert instance_documents(_TAGS) == {
        ObjectRef(Kind.TENANT, "DefaultTenant"): {
            "tenant": "DefaultTenant",
            "brokers": ["Broker_h_1"],
            "offline_servers": ["Server_h_2"],
            "realtime_servers": ["Server_h_2"],
        },
        ObjectRef(Kind.TENANT, "Fast"): {
            "tenant": "Fast",
            "brokers": [],
            "offline_servers": ["Server_h_3"],
            "realtime_servers": [],
        },
        ObjectRef(Kind.INSTANCE, "Server_h_2"): {"instance": "Server_h_2", "tags": ["rack7"]},
        ObjectRef(Kind.INSTANCE, "Minion_h_5"): {"instance": "Minion_h_5", "tags": ["minion_untagged"]},
    }


def test_members_of_a_tenant_are_instances_with_its_tags() -> None:
    document = {"tenant": "T", "brokers": ["Broker_a_1"], "offline_servers": ["Server_b_2"]}
    assert members(document) == {("Broker_a_1", "T_BROKER"), ("Server_b_2", "T_OFFLINE")}
    assert members(None) == set()


def test_an_instance_without_a_tenant_is_untagged() -> None:
    assert tags_with_members("Server_h_2", ["T_OFFLINE"], [], ["T_OFFLINE"]) == ["server_untagged"]
    assert tags_with_members("Server_h_2", ["server_untagged"], ["T_OFFLINE"], []) == ["T_OFFLINE"]
    assert tags_with_members("Broker_h_1", ["rack7", "T_BROKER"], [], ["T_BROKER"]) == [
        "rack7",
        "broker_untagged",
    ]
    assert tags_with_others("Server_h_2", ["T_OFFLINE", "rack7"], ["rack8"]) == ["T_OFFLINE", "rack8"]
    assert tags_with_others("Minion_h_5", ["a"], []) == []


@given(
    st.sets(st.sampled_from(["A_OFFLINE", "A_REALTIME", "B_OFFLINE"])), st.sets(st.sampled_from(["r1", "r2"]))
)
def test_tags_survive_conversion_to_documents_and_back(of_tenants: set[str], others: set[str]) -> None:
    documents = instance_documents({"Server_h_1": [*of_tenants, *others]})
    tags: list[str] = []
    for document in documents.values():
        tags = tags_with_members(
            "Server_h_1", tags, [tag for _, tag in members(document)] if "tenant" in document else [], []
        )
    instance = documents.get(ObjectRef(Kind.INSTANCE, "Server_h_1"))
    tags = tags_with_others("Server_h_1", tags, instance["tags"] if instance else [])
    assert set(tags) - {"server_untagged"} == of_tenants | others
    assert ("server_untagged" in tags) == (not of_tenants)


@pytest.mark.parametrize(
    ("brokers", "offline", "realtime", "words"),
    [
        (["Broker_a_1"], ["Server_b_2"], [], None),
        (["Broker_a_1"], [], ["Server_b_2"], None),
        (["Broker_a_1"], [], [], "no server, but x_OFFLINE would still use it"),
        ([], ["Server_b_2"], [], "no broker, but x_OFFLINE would still use it"),
    ],
)
def test_a_tenant_in_use_cannot_lose_its_last_member(
    brokers: list[str], offline: list[str], realtime: list[str], words: str | None
) -> None:
    ref = ObjectRef(Kind.TENANT, "T")
    document = {"tenant": "T", "brokers": brokers, "offline_servers": offline, "realtime_servers": realtime}
    live = {
        ObjectRef(Kind.TABLE, "x_OFFLINE"): {"tenants": {"broker": "T", "server": "T"}},
        ObjectRef(Kind.TABLE, "y_OFFLINE"): {"tenants": {"broker": "U", "server": "U"}},
    }
    reason = emptied_tenant(Target(ref, None, document, document), live)
    assert reason is None if words is None else reason is not None and words in reason
