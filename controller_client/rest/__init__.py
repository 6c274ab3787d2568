"""The controller's REST API: transport, mapping of responses to errors, one module per resource group.

From this project it imports only the shared modules: errors, clock, config, ``common`` and ``models``.
"""
