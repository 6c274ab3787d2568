package io.pinotplugins.columns.v0_11;

import io.pinotplugins.columns.ColumnCreators;
import io.pinotplugins.columns.PrivateField;
import java.util.Collections;
import java.util.Map;
import java.util.function.Function;
import org.apache.pinot.segment.local.segment.creator.impl.nullvalue.NullValueVectorCreator;
import org.apache.pinot.segment.spi.index.creator.BloomFilterCreator;
import org.apache.pinot.segment.spi.index.creator.CombinedInvertedIndexCreator;
import org.apache.pinot.segment.spi.index.creator.DictionaryBasedInvertedIndexCreator;
import org.apache.pinot.segment.spi.index.creator.ForwardIndexCreator;
import org.apache.pinot.segment.spi.index.creator.GeoSpatialIndexCreator;
import org.apache.pinot.segment.spi.index.creator.JsonIndexCreator;
import org.apache.pinot.segment.spi.index.creator.TextIndexCreator;
import org.apache.pinot.spi.config.table.FieldConfig;

/** The creators of Pinot 0.11: a map by column for each kind. */
public final class DriverCreators implements Function<String, ColumnCreators> {
  private final Object _driver;

  public DriverCreators(Object driver) {
    _driver = driver;
  }

  @Override
  public ColumnCreators apply(String column) {
    SeparateCreators creators = new SeparateCreators(of("_dictionaryCreatorMap", column) != null,
        (ForwardIndexCreator) of("_forwardIndexCreatorMap", column));
    creators._inverted = (DictionaryBasedInvertedIndexCreator) of("_invertedIndexCreatorMap", column);
    creators._range = (CombinedInvertedIndexCreator) of("_rangeIndexFilterCreatorMap", column);
    creators._bloom = (BloomFilterCreator) of("_bloomFilterCreatorMap", column);
    creators._text = (TextIndexCreator) of("_textIndexCreatorMap", column);
    creators._json = (JsonIndexCreator) of("_jsonIndexCreatorMap", column);
    creators._geo = (GeoSpatialIndexCreator) of("_h3IndexCreatorMap", column);
    creators._nulls = (NullValueVectorCreator) of("_nullValueVectorCreatorMap", column);
    creators._rawText = rawText(column);
    return creators;
  }

  private Object of(String map, String column) {
    return ((Map<?, ?>) PrivateField.of(PrivateField.of(_driver, "_indexCreator"), map)).get(column);
  }

  /** Returns the text that is stored instead of the values of a column with a text index; null for the values. */
  private String rawText(String column) {
    Map<?, ?> all = (Map<?, ?>) PrivateField.of(PrivateField.of(_driver, "_indexCreator"), "_columnProperties");
    Object own = all == null ? null : all.get(column);
    Map<?, ?> properties = own == null ? Collections.emptyMap() : (Map<?, ?>) own;
    if (!Boolean.parseBoolean((String) properties.get(FieldConfig.TEXT_INDEX_NO_RAW_DATA))) {
      return null;
    }
    Object text = properties.get(FieldConfig.TEXT_INDEX_RAW_VALUE);
    return text == null ? FieldConfig.TEXT_INDEX_DEFAULT_RAW_VALUE : (String) text;
  }
}
