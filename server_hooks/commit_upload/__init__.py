"""The commit of a segment does not wait for the deep store: a hook for tables with peer download.

Pinot 0.11 waits up to 10 s, later versions up to 300 s, for the upload of each committed segment, and throws
away what comes later. The hook ``commit-upload`` waits 5 s (``pinotPlugins.commitUpload.waitMs`` of the
server's configuration). What is not in the store by then waits in a backlog, is uploaded when the store takes
it, and registers its url; a commit that is retried does not upload again.

===================  ==================================================================================
module               what
===================  ==================================================================================
``uploads``          the uploads that commits wait for; plain Python, as the next six
``upload_state``     what a tar in the backlog is at: the table of transitions
``backlog``          the tars that wait for the store: how many, how old, and which are too much
``kept_tars``        where they are on the server's disk
``late_uploads``     brings them to the store
``registering``      a late upload is moved to its place, and its url put into the segment's record
``settings``         of the server's configuration
``place``            where in Pinot uploads are taken over, by version
``file_system_1_5``  a file system of our own before the store's; Java: ``v1_5.upload``
``uploader_0_11``    Pinot's uploader, whose work is handed to Python; Java: ``v0_11.upload``
``store``            what a store has to be able to do
``pinot_store``      the store by Pinot's own file systems
``outcomes``         counters
``hook``             puts them together, and publishes the numbers
===================  ==================================================================================
"""

from server_hooks.commit_upload.hook import CommitUploadHook

__all__ = ["CommitUploadHook"]
