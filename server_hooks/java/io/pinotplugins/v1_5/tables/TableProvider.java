package io.pinotplugins.v1_5.tables;

import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import org.apache.helix.HelixManager;
import org.apache.pinot.core.data.manager.provider.DefaultTableDataManagerProvider;
import org.apache.pinot.segment.local.utils.SegmentLocks;
import org.apache.pinot.spi.config.instance.InstanceDataManagerConfig;
import org.apache.pinot.spi.config.table.TableConfig;
import org.apache.pinot.spi.config.table.TableType;

/**
 * Creates our realtime tables in a server. The methods that Pinot calls take other arguments in each version,
 * and are in a subclass for each, whose name is set in the property
 * {@code pinot.server.instance.table.data.manager.provider.class}.
 *
 * @param <T> what limits the operations on segments
 */
public abstract class TableProvider<T> extends DefaultTableDataManagerProvider {
    protected InstanceDataManagerConfig config;
    protected HelixManager helix;
    protected SegmentLocks locks;
    protected T throttlers;
    private Semaphore builds;

    /** Keeps what the tables need, when the server starts. */
    protected final void keep(
            InstanceDataManagerConfig config, HelixManager helix, SegmentLocks locks, T throttlers) {
        this.config = config;
        this.helix = helix;
        this.locks = locks;
        this.throttlers = throttlers;
        int maxBuilds = config.getMaxParallelSegmentBuilds();
        this.builds = maxBuilds > 0 ? new Semaphore(maxBuilds, true) : null;
    }

    /** Whether a table is one of ours. */
    protected static boolean isRealtime(TableConfig table) {
        return table.getTableType() == TableType.REALTIME;
    }

    /** Returns a table, to be initialized. */
    protected final RealtimeTable create(BooleanSupplier isReady) {
        return new RealtimeTable(builds, isReady);
    }
}
