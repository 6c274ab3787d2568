"""What turns a session's file groups into staged segments: engines, subtasks, the builder they share."""

from minion_tasks.file_ingestion.engine.minion import Engine, EngineContext, MinionEngine

__all__ = ["Engine", "EngineContext", "MinionEngine"]
