package io.pinotplugins.v1_5.upload;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.pinot.common.utils.LLCSegmentName;
import org.apache.pinot.spi.filesystem.NoClosePinotFS;
import org.apache.pinot.spi.plugin.PluginManager;
import org.apache.pinot.spi.utils.builder.TableNameBuilder;

/**
 * The file system of a server's segment store: passes uploads of commits to the hook, and all other calls to
 * the configured one; set in the property {@code pinot.server.storage.factory.class.<scheme>}.
 */
public final class StoreFileSystem extends NoClosePinotFS {
    private static final Pattern TEMPORARY = Pattern.compile(".*/(.+)\\.tmp\\.[0-9a-fA-F-]{36}");

    private static volatile String wrapped;
    private static volatile CommitUploads uploads;

    /** Called by Pinot when the server starts. */
    public StoreFileSystem() throws Exception {
        super(PluginManager.get().createInstance(wrapped));
    }

    /** Sets the name of the configured class, and the uploads; called before the server starts. */
    public static void install(String wrapped, CommitUploads uploads) {
        StoreFileSystem.wrapped = wrapped;
        StoreFileSystem.uploads = uploads;
    }

    /** Returns false for a new random name without a call: a store that hangs would block the commit here. */
    @Override
    public boolean exists(URI uri) throws IOException {
        return segmentOf(uri) == null && super.exists(uri);
    }

    @Override
    public void copyFromLocalFile(File file, URI target) throws Exception {
        LLCSegmentName segment = segmentOf(target);
        if (segment == null || !isOfCommit(file, segment)) {
            super.copyFromLocalFile(file, target);
            return;
        }
        String name = segment.getSegmentName();
        if (!uploads.upload(file.getAbsolutePath(), segment.getTableName(), name, target.toString())) {
            throw new IOException(name + " was not uploaded in time; its commit continues without it");
        }
    }

    @Override
    public void close() throws IOException {
        _delegate.close();
    }

    private static LLCSegmentName segmentOf(URI uri) {
        Matcher found = TEMPORARY.matcher(String.valueOf(uri.getPath()));
        return found.matches() && LLCSegmentName.isLLCSegment(found.group(1))
            ? new LLCSegmentName(found.group(1)) : null;
    }

    /** Uploads that the controller requests later, or of reingested segments, come from other folders. */

    private static boolean isOfCommit(File tar, LLCSegmentName segment) {
        String folder = TableNameBuilder.REALTIME.tableNameWithType(segment.getTableName());
        return tar.getName().startsWith(segment.getSegmentName() + ".")
            && folder.equals(tar.getAbsoluteFile().getParentFile().getName());
    }
}
