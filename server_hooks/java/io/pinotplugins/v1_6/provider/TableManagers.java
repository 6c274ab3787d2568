package io.pinotplugins.v1_6.provider;

import com.google.common.cache.Cache;
import io.pinotplugins.v1_5.tables.TableProvider;
import java.lang.reflect.Field;
import java.util.concurrent.ExecutorService;
import java.util.function.BooleanSupplier;
import org.apache.commons.lang3.tuple.Pair;
import org.apache.helix.HelixManager;
import org.apache.pinot.common.restlet.resources.SegmentErrorInfo;
import org.apache.pinot.core.data.manager.realtime.RealtimeTableDataManager;
import org.apache.pinot.core.data.manager.realtime.ServerIngestionOomProtectionManager.ServerThrottleState;
import org.apache.pinot.segment.local.data.manager.TableDataManager;
import org.apache.pinot.segment.local.utils.SegmentLocks;
import org.apache.pinot.segment.local.utils.SegmentOperationsThrottlerSet;
import org.apache.pinot.segment.local.utils.SegmentReloadSemaphore;
import org.apache.pinot.segment.local.utils.ServerReloadJobStatusCache;
import org.apache.pinot.spi.config.instance.InstanceDataManagerConfig;
import org.apache.pinot.spi.config.table.TableConfig;
import org.apache.pinot.spi.data.Schema;

/** Creates our realtime tables in a server of Pinot 1.6. */
public final class TableManagers extends TableProvider<SegmentOperationsThrottlerSet> {
    /** What Pinot passes to a table beside what the constructor of 1.4 and 1.5 takes, which still exists. */
    private static final Field IS_READY_TO_CONSUME = field("_isServerReadyToConsumeData");
    private static final Field THROTTLE = field("_serverIngestionOomProtectionThrottleState");

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
            BooleanSupplier isReadyToConsume,
            BooleanSupplier isReady,
            ServerThrottleState throttle,
            boolean refreshAside,
            ServerReloadJobStatusCache reloads) {
        if (!isRealtime(table)) {
            return super.getTableDataManager(
                table,
                schema,
                reloadSemaphore,
                reloader,
                preloader,
                errors,
                isReadyToConsume,
                isReady,
                throttle,
                refreshAside,
                reloads);
        }
        TableDataManager made = create(isReady);
        try {
            IS_READY_TO_CONSUME.set(made, isReadyToConsume);
            THROTTLE.set(made, throttle);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
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

    private static Field field(String name) {
        try {
            Field field = RealtimeTableDataManager.class.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException error) {
            throw new IllegalStateException("this Pinot's tables have no " + name, error);
        }
    }
}
