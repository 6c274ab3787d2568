"""The commit of a segment does not wait for the deep store: a hook for tables with peer download.

Pinot 0.11 waits up to 10 s, later versions up to 300 s, for the upload of each committed segment, and throws
away what comes later. The hook ``commit-upload`` waits 5 s (``pinotPlugins.commitUpload.waitMs`` of the
server's configuration); an upload that ends later still registers its url, a commit that is retried does not
upload again.

===================  ==================================================================================
module               what
===================  ==================================================================================
``uploads``          the uploads under way and what became of them; plain Python
``registering``      a late upload is moved to its place, and its url put into the segment's record
``place``            where in Pinot uploads are taken over, by version
``file_system_1_5``  a file system of our own before the store's; Java: ``v1_5.upload``
``uploader_0_11``    Pinot's uploader, whose work is handed to Python; Java: ``v0_11.upload``
``pinot_store``      the store by Pinot's own file systems
``hook``             puts them together, and publishes the counters
===================  ==================================================================================
"""

from server_hooks.commit_upload.hook import CommitUploadHook

__all__ = ["CommitUploadHook"]
