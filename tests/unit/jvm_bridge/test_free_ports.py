from __future__ import annotations

import os
import socket

import pytest

from controller_client.errors import SetupError
from jvm_bridge.free_ports import check_free

HOST = "127.0.0.1"


def test_a_taken_port_is_named_with_its_holder() -> None:
    with socket.socket() as listener, socket.socket() as free:
        listener.bind((HOST, 0))
        listener.listen()
        free.bind((HOST, 0))
        taken, other = listener.getsockname()[1], free.getsockname()[1]
        free.close()
        with pytest.raises(SetupError, match=rf"{taken} \(controller\): pid {os.getpid()}") as caught:
            check_free({"controller": taken, "broker": other})
        assert str(other) not in caught.value.message
    check_free({"broker": other})
