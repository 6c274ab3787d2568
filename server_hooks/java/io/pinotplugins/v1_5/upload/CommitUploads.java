package io.pinotplugins.v1_5.upload;

/** Uploads what commits have built. */
public interface CommitUploads {
    /**
     * Called in a thread of Pinot's uploader; returns soon.
     *
     * @param tar The segment's tar.
     * @param table The table without type.
     * @param segment The segment's name.
     * @param target The uri that the tar is to get.
     * @return Whether it is there; else the commit is to go on without it.
     */
    boolean upload(String tar, String table, String segment, String target);
}
