package io.pinotplugins.v1_5.tables;

import io.pinotplugins.upsert.SystemColumns;
import java.util.Set;
import org.apache.pinot.spi.config.table.TableConfig;
import org.apache.pinot.spi.data.Schema;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.plugin.PluginManager;
import org.apache.pinot.spi.stream.StreamConfig;
import org.apache.pinot.spi.stream.StreamMessageDecoder;

/** Wraps a table's decoder so that messages cannot set our columns: fields with their names are dropped. */
public final class RowDecoder implements StreamMessageDecoder<Object> {
    /** Key in the stream's config: the class of the table's own decoder. */
    static final String DECODER_OF_TABLE = "pinotPlugins.upsert.decoder";

    private StreamMessageDecoder<Object> decoder;

    @Override
    public void init(Set<String> fields, StreamConfig stream, TableConfig table, Schema schema)
            throws Exception {
        decoder = PluginManager.get().createInstance(stream.getStreamConfigsMap().get(DECODER_OF_TABLE));
        decoder.init(fields, stream, table, schema);
    }

    @Override
    public GenericRow decode(Object payload, GenericRow reuse) {
        return withoutOurs(decoder.decode(payload, reuse));
    }

    @Override
    public GenericRow decode(Object payload, int offset, int length, GenericRow reuse) {
        return withoutOurs(decoder.decode(payload, offset, length, reuse));
    }

    private static GenericRow withoutOurs(GenericRow row) {
        if (row != null) {
            SystemColumns.ALL.forEach(row::removeValue);
        }
        return row;
    }
}
