"""Turns a session's file groups into staged segments: engines, subtasks and their shared builder."""

from minion_tasks.file_ingestion.engine.choose import Engines
from minion_tasks.file_ingestion.engine.minion import Engine, EngineContext, MinionEngine

__all__ = ["Engine", "EngineContext", "Engines", "MinionEngine"]
