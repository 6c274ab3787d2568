package io.pinotplugins.v1_5.provider;

import com.google.common.cache.Cache;
import io.pinotplugins.v1_5.tables.TableProvider;
import java.util.concurrent.ExecutorService;
import java.util.function.BooleanSupplier;
import org.apache.commons.lang3.tuple.Pair;
import org.apache.helix.HelixManager;
import org.apache.pinot.common.restlet.resources.SegmentErrorInfo;
import org.apache.pinot.segment.local.data.manager.TableDataManager;
import org.apache.pinot.segment.local.utils.SegmentLocks;
import org.apache.pinot.segment.local.utils.SegmentOperationsThrottlerSet;
import org.apache.pinot.segment.local.utils.SegmentReloadSemaphore;
import org.apache.pinot.segment.local.utils.ServerReloadJobStatusCache;
import org.apache.pinot.spi.config.instance.InstanceDataManagerConfig;
import org.apache.pinot.spi.config.table.TableConfig;
import org.apache.pinot.spi.data.Schema;

/** Creates our realtime tables in a server of Pinot 1.5. */
public final class TableManagers extends TableProvider<SegmentOperationsThrottlerSet> {
    @Override
    public void init(
            InstanceDataManagerConfig config,
            HelixManager helix,
            SegmentLocks locks,
            SegmentOperationsThrottlerSet throttlers,
            ServerReloadJobStatusCache reloads) {
        super.init(config, helix, locks, throttlers, reloads);
        keep(config, helix, locks, throttlers);
    }

    @Override
    public TableDataManager getTableDataManager(
            TableConfig table,
            Schema schema,
            SegmentReloadSemaphore reloadSemaphore,
            ExecutorService reloader,
            ExecutorService preloader,
            Cache<Pair<String, String>, SegmentErrorInfo> errors,
            BooleanSupplier isReady,
            boolean refreshAside,
            ServerReloadJobStatusCache reloads) {
        if (!isRealtime(table)) {
            return super.getTableDataManager(
                table, schema, reloadSemaphore, reloader, preloader, errors, isReady, refreshAside, reloads);
        }
        TableDataManager made = create(isReady);
        made.init(
                config,
                helix,
                locks,
                table,
                schema,
                reloadSemaphore,
                reloader,
                preloader,
                errors,
                throttlers,
                refreshAside,
                reloads);
        return made;
    }
}
