"""Targets for coverage-guided fuzzing, one module for each parser of bytes that others write.

``python -m tests.fuzz NAME`` runs one; see CONTRIBUTING.md. Each module has a function ``parse(data)``, which
returns or raises an error of this project; anything else is a finding. :mod:`tests.unit.test_hostile_bytes`
calls the same functions with a corpus of known hostile bytes.
"""
