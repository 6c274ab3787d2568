package io.pinotplugins.v0_11.upload;

import java.io.File;
import java.net.URI;
import org.apache.pinot.common.utils.LLCSegmentName;
import org.apache.pinot.core.data.manager.realtime.SegmentUploader;

/** Uploads for Pinot's uploaders; each commit creates its own uploader. */
public final class CommitUploader {
    private static volatile SegmentUploader uploader;

    private CommitUploader() {
    }

    /** Sets the uploader, before the first commit. */
    public static void install(SegmentUploader uploader) {
        CommitUploader.uploader = uploader;
    }

    /** Returns the URI of a segment's tar in the store; null if the commit continues without it. */
    public static URI upload(File tar, LLCSegmentName segment) {
        return uploader.uploadSegment(tar, segment);
    }
}
