package io.pinotplugins.v1_5.tables;

import io.pinotplugins.upsert.SystemColumns;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.pinot.spi.config.table.TableConfig;
import org.apache.pinot.spi.config.table.ingestion.IngestionConfig;
import org.apache.pinot.spi.config.table.ingestion.StreamIngestionConfig;
import org.apache.pinot.spi.config.table.ingestion.TransformConfig;
import org.apache.pinot.spi.stream.StreamConfigProperties;
import org.apache.pinot.spi.utils.JsonUtils;

/** Adds the offset of its message to each row of a consuming segment, from Pinot's own row metadata. */
final class RowOffsets {
    private static final String OFFSET_OF_MESSAGE = "__metadata$offset";

    private RowOffsets() {
    }

    /** Returns a copy of a table's config with the changes for its consumers; the original is unchanged. */
    static TableConfig in(TableConfig table) {
        TableConfig copy = copied(table);
        Map<String, String> legacy = copy.getIndexingConfig().getStreamConfigs();
        if (legacy != null) {
            change(legacy);
        }
        IngestionConfig ingestion = copy.getIngestionConfig();
        if (ingestion == null) {
            ingestion = new IngestionConfig();
            copy.setIngestionConfig(ingestion);
        }
        StreamIngestionConfig streams = ingestion.getStreamIngestionConfig();
        if (streams != null) {
            streams.getStreamConfigMaps().forEach(RowOffsets::change);
        }
        List<TransformConfig> transforms = new ArrayList<>();
        if (ingestion.getTransformConfigs() != null) {
            transforms.addAll(ingestion.getTransformConfigs());
        }
        transforms.add(new TransformConfig(SystemColumns.OFFSET, '"' + OFFSET_OF_MESSAGE + '"'));
        ingestion.setTransformConfigs(transforms);
        return copy;
    }

    private static void change(Map<String, String> stream) {
        String type = stream.get(StreamConfigProperties.STREAM_TYPE);
        stream.put(
            StreamConfigProperties.constructStreamProperty(type, StreamConfigProperties.METADATA_POPULATE),
            "true");
        String decoder =
            StreamConfigProperties.constructStreamProperty(type, StreamConfigProperties.STREAM_DECODER_CLASS);
        stream.put(RowDecoder.DECODER_OF_TABLE, stream.get(decoder));
        stream.put(decoder, RowDecoder.class.getName());
    }

    private static TableConfig copied(TableConfig table) {
        try {
            return JsonUtils.stringToObject(table.toJsonString(), TableConfig.class);
        } catch (IOException error) {
            throw new UncheckedIOException(
                "cannot read the config of " + table.getTableName(), error);
        }
    }
}
