package io.pinotplugins.v1_5.upload;

/** Uploads the tars of commits. */
public interface CommitUploads {
    /**
     * Called in a thread of Pinot's uploader; returns soon.
     *
     * @param tar The segment's tar.
     * @param table The table without type.
     * @param segment The segment's name.
     * @param target The URI to upload to.
     * @return Whether the tar was uploaded; if not, the commit continues without it.
     */
    boolean upload(String tar, String table, String segment, String target);
}
