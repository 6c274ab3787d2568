package io.pinotplugins.columns.v1;

import java.util.List;
import java.util.function.BiFunction;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.recordtransformer.RecordTransformer;

/** Converts the text of a column with Pinot's own transformers. */
public final class Transformers implements BiFunction<String, String, Object> {
  private final List<RecordTransformer> _transformers;
  private final GenericRow _row = new GenericRow();

  public Transformers(List<RecordTransformer> transformers) {
    _transformers = transformers;
  }

  @Override
  public Object apply(String column, String text) {
    _row.clear();
    _row.putValue(column, text);
    for (RecordTransformer transformer : _transformers) {
      transformer.transform(_row);
    }
    return _row.getValue(column);
  }
}
