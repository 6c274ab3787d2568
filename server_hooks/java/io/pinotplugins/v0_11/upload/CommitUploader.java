package io.pinotplugins.v0_11.upload;

import java.io.File;
import java.net.URI;
import org.apache.pinot.common.utils.LLCSegmentName;
import org.apache.pinot.core.data.manager.realtime.SegmentUploader;

/** Uploads for Pinot's uploaders, of which each commit makes one of its own. */
public final class CommitUploader {
    private static volatile SegmentUploader uploader;

    private CommitUploader() {
    }

    /** Before the first commit. */
    public static void install(SegmentUploader uploader) {
        CommitUploader.uploader = uploader;
    }

    /** The place of a segment's tar in the store; null where the commit is to go on without it. */
    public static URI upload(File tar, LLCSegmentName segment) {
        return uploader.uploadSegment(tar, segment);
    }
}
