"""What is changed in Pinot 0.11's classes for upsert tables. All byte code is in here.

The classes are changed before they are loaded, by the Javassist that is among Pinot's jars:

==============================================  ==============================================================
place                                           what is added
==============================================  ==============================================================
LLRealtimeSegmentDataManager                    a decoded row gets the offset of its own message, where the
``processStreamEvents``                         schema has the column for it
BaseTableDataManager.addSegment(segment)        we are asked before Pinot takes a sealed segment
RealtimeTableDataManager.addSegment(name, ...)  we are told of the consuming segment that was made
BaseTableDataManager ``removeSegment``          we are told that a segment is gone
``ServerQueryExecutorV1Impl.start``             we are asked before the server takes queries
``TimestampIndexGranularity``                   Pinot reads our columns of a sealed segment: it skips names
                                                that begin with ``$``, but for those that this class knows
==============================================  ==============================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import jpype

from controller_client.upsert.columns import OFFSET, SYSTEM_COLUMNS
from jvm_bridge.changed_classes import ChangedClasses, changing
from jvm_bridge.java_interface import overrides

__all__ = ["Listener", "install"]

_DATA_MANAGERS = "org.apache.pinot.core.data.manager"
_TABLE = f"{_DATA_MANAGERS}.BaseTableDataManager"
_REALTIME_TABLE = f"{_DATA_MANAGERS}.realtime.RealtimeTableDataManager"
_CONSUMING = f"{_DATA_MANAGERS}.realtime.LLRealtimeSegmentDataManager"
_EXECUTOR = "org.apache.pinot.core.query.executor.ServerQueryExecutorV1Impl"
_SEGMENT = "org.apache.pinot.segment.spi.ImmutableSegment"
_KEPT_COLUMNS = "org.apache.pinot.spi.config.table.TimestampIndexGranularity"
_LONG_OFFSET = "org.apache.pinot.spi.stream.LongMsgOffset"

_LISTENER = "pythonUpsert"
_LISTENER_TYPE = "java.util.function.BiConsumer"
_OFFSET_FIELD = "pythonOffset"

_ADD, _CONSUME, _REMOVE, _OPEN = "add", "consume", "remove", "open"

# Javassist cannot be given an object of Python's that extends its class, so it compiles this one too.
_EDITOR = f"""
public void edit(javassist.expr.MethodCall call) throws javassist.CannotCompileException {{
    if (call.getMethodName().equals("getMessageAtIndex")) {{
        call.replace("{{ this.{_OFFSET_FIELD} = (({_LONG_OFFSET})"
            + " $0.getNextStreamPartitionMsgOffsetAtIndex($1)).getOffset() - 1L; $_ = $proceed($$); }}");
    }} else if (call.getMethodName().equals("processRow")) {{
        call.replace("{{ if (this._schema.hasColumn(\\"{OFFSET}\\"))"
            + " {{ $1.putValue(\\"{OFFSET}\\", java.lang.Long.valueOf(this.{_OFFSET_FIELD})); }}"
            + " $_ = $proceed($$); }}");
    }}
}}
"""


class Listener(Protocol):
    """What is asked and told; in threads of Pinot's (Helix' transitions, commits), and it must not raise."""

    def before_add(self, table: Any, segment: Any) -> None:
        """Before a ``TableDataManager`` takes an ``ImmutableSegment``: queries do not see it yet."""
        ...

    def consuming(self, table: Any, segment: str) -> None:
        """A consuming segment was made; it consumes, and its transition waits for the return."""
        ...

    def removed(self, table: Any, segment: str) -> None:
        """A segment was taken out of the table."""
        ...

    def before_open(self) -> None:
        """Before the server takes queries; in the main thread."""
        ...


def install(listener: Listener) -> None:
    """Change the classes; before Pinot, or anything that looks at them, loads them.

    Args:
        listener: Asked and told from then on.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or a class is in use already.
    """
    with changing(
        "upsert tables cannot be served by this version of Pinot",
        remedy="run the server without the hook upsert, or look whether another hook uses these classes",
    ):
        classes = ChangedClasses("org.apache.pinot.spi.stream.MessageBatch")
        kept = classes.get(_KEPT_COLUMNS)
        ours = " || ".join(f'"{column}".equals($1)' for column in SYSTEM_COLUMNS)
        _method(kept, "isValidTimeColumnWithGranularityName").insertBefore(f"if ({ours}) {{ return true; }}")
        classes.load(kept)
        base = _changed_tables(classes)
        consuming = _changed_consuming(classes)
        executor = classes.get(_EXECUTOR)
        _method(executor, "start").insertBefore(_tell(_OPEN))
        realtime = classes.get(_REALTIME_TABLE)
        _method(realtime, "addSegment", "java.lang.String", 3).insertAfter(_tell(_CONSUME, "this", "$1"))
        loaded = classes.load(base)
        target = jpype.JObject(_Listener(listener), jpype.JClass(_LISTENER_TYPE))
        loaded.getField(_LISTENER).set(None, target)
        for each in (consuming, realtime, executor):
            classes.load(each)


def _changed_tables(classes: ChangedClasses) -> Any:
    changed = classes.get(_TABLE)
    classes.add_field(changed, f"public static {_LISTENER_TYPE} {_LISTENER};")
    _method(changed, "addSegment", _SEGMENT, 1).insertBefore(_tell(_ADD, "this", "$1"))
    _method(changed, "removeSegment").insertAfter(_tell(_REMOVE, "this", "$1"))
    return changed


def _changed_consuming(classes: ChangedClasses) -> Any:
    changed = classes.get(_CONSUMING)
    classes.add_field(changed, f"private long {_OFFSET_FIELD};")
    editor = classes.pool.makeClass("org.apache.pinot.spi.stream.PythonOffsetEditor")
    editor.setSuperclass(classes.get("javassist.expr.ExprEditor"))
    classes.add_method(editor, _EDITOR)
    made = classes.load(editor).getDeclaredConstructor().newInstance()
    changed.getDeclaredMethod("processStreamEvents").instrument(made)
    return changed


def _method(owner: Any, name: str, first: str | None = None, count: int | None = None) -> Any:
    """A method that the class itself declares, by the type of its first parameter and their number."""
    found = []
    for method in owner.getDeclaredMethods(name):
        types = [str(each.getName()) for each in method.getParameterTypes()]
        if (first is None or types[:1] == [first]) and count in (None, len(types)):
            found.append(method)
    if len(found) != 1:
        raise LookupError(f"{owner.getName()} has {len(found)} methods {name}({first or ''}...)")
    return found[0]


def _tell(what: str, *values: str) -> str:
    listener = f"{_TABLE}.{_LISTENER}"
    array = f"new Object[] {{{', '.join(values)}}}" if values else "null"
    return f'if ({listener} != null) {{ {listener}.accept("{what}", {array}); }}'


@jpype.JImplements(_LISTENER_TYPE, deferred=True)
class _Listener:
    def __init__(self, listener: Listener) -> None:
        self._calls: dict[str, Callable[[Any], None]] = {
            _ADD: lambda values: listener.before_add(values[0], values[1]),
            _CONSUME: lambda values: listener.consuming(values[0], str(values[1])),
            _REMOVE: lambda values: listener.removed(values[0], str(values[1])),
            _OPEN: lambda _values: listener.before_open(),
        }

    @overrides
    def accept(self, what: Any, values: Any) -> None:
        """Called by the code that was added."""
        self._calls[str(what)](values)
