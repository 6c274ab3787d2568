"""A hook that commits segments without waiting for the deep store, for tables with peer download.

Pinot 0.11 waits up to 10 s, later versions up to 300 s, for the upload of each committed segment, and
discards uploads that finish later. The hook ``commit-upload`` waits 5 s (set
``pinotPlugins.commitUpload.waitMs`` in the server's configuration to change this). A tar that is not in the
store by then goes into a backlog. The hook uploads it once the store accepts it, and registers its URL. A
retried commit does not upload the same tar again.

===================  ==================================================================================
module               content
===================  ==================================================================================
``uploads``          the uploads that commits wait for; plain Python, as are the next six
``upload_state``     the states of a tar in the backlog, and their transitions
``backlog``          the tars that wait for the store: how many, how old, and which exceed the limits
``kept_tars``        these tars on the server's disk
``late_uploads``     uploads them to the store
``registering``      moves a late upload to its final URI, and registers its URL in the segment's record
``settings``         the hook's settings in the server's configuration
``extension_point``  where the hook intercepts uploads, by Pinot version
``file_system_1_5``  our file system, which wraps the store's; Java: ``v1_5.upload``
``uploader_0_11``    Pinot's uploader, patched to call Python; Java: ``v0_11.upload``
``store``            the operations that a store must support
``pinot_store``      the store through Pinot's own file systems
``outcomes``         counters
``hook``             connects all of these, and publishes the metrics
===================  ==================================================================================
"""

from server_hooks.commit_upload.hook import CommitUploadHook

__all__ = ["CommitUploadHook"]
