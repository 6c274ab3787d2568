"""The controller's REST API: transport, the errors that answers mean, one module for each resource group.

Of this project it imports only what all rooms share: errors, clock, config, ``common`` and ``models``.
"""
