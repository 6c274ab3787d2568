package io.pinotplugins.v1_5.tables;

import io.pinotplugins.upsert.SystemColumns;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.apache.pinot.segment.spi.ImmutableSegment;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.segment.spi.MutableSegment;
import org.apache.pinot.segment.spi.SegmentContext;
import org.apache.pinot.segment.spi.datasource.DataSource;
import org.apache.pinot.segment.spi.datasource.DataSourceMetadata;

/**
 * Segments for queries of $validFrom and $validUntil: without minimum and maximum values of these columns.
 * Pinot's values are from when it built the segment; it uses them to answer MIN and MAX, and to skip segments
 * that cannot have any of the first rows of an ORDER BY.
 */
final class Unbounded {
    private Unbounded() {
    }

    static List<SegmentContext> of(List<SegmentContext> contexts) {
        List<SegmentContext> found = new ArrayList<>();
        for (SegmentContext context : contexts) {
            SegmentContext made = new SegmentContext(of(context.getIndexSegment()));
            made.setQueryableDocIdsSnapshot(context.getQueryableDocIdsSnapshot());
            found.add(made);
        }
        return found;
    }

    private static IndexSegment of(IndexSegment segment) {
        Class<? extends IndexSegment> type =
            segment instanceof MutableSegment ? MutableSegment.class : ImmutableSegment.class;
        return proxy(type, segment, (name, arguments, found) -> {
            boolean isOurs = name.startsWith("getDataSource") && found != null
                && SystemColumns.isVersion(arguments[0]);
            return isOurs ? of((DataSource) found) : found;
        });
    }

    private static DataSource of(DataSource column) {
        return proxy(DataSource.class, column, (name, arguments, found) ->
            name.equals("getDataSourceMetadata") ? of((DataSourceMetadata) found) : found);
    }

    private static DataSourceMetadata of(DataSourceMetadata metadata) {
        return proxy(DataSourceMetadata.class, metadata, (name, arguments, found) ->
            name.equals("getMinValue") || name.equals("getMaxValue") ? null : found);
    }

    private interface Change {
        /** Returns the result of a method, given its name, its arguments and the original's result. */
        Object apply(String name, Object[] arguments, Object found);
    }

    private static <T> T proxy(Class<? extends T> type, T original, Change change) {
        InvocationHandler handler = (proxy, method, arguments) -> {
            if (method.getName().equals("equals")) {
                return proxy == arguments[0];
            }
            try {
                return change.apply(method.getName(), arguments, method.invoke(original, arguments));
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        };
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
