package io.pinotplugins.columns.v0_11;

import io.pinotplugins.columns.ColumnCreators;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import org.apache.pinot.segment.local.segment.creator.impl.nullvalue.NullValueVectorCreator;
import org.apache.pinot.segment.local.utils.GeometrySerializer;
import org.apache.pinot.segment.spi.index.creator.BloomFilterCreator;
import org.apache.pinot.segment.spi.index.creator.CombinedInvertedIndexCreator;
import org.apache.pinot.segment.spi.index.creator.DictionaryBasedInvertedIndexCreator;
import org.apache.pinot.segment.spi.index.creator.ForwardIndexCreator;
import org.apache.pinot.segment.spi.index.creator.GeoSpatialIndexCreator;
import org.apache.pinot.segment.spi.index.creator.JsonIndexCreator;
import org.apache.pinot.segment.spi.index.creator.TextIndexCreator;

/** The creators of one column in Pinot 0.11; all except the forward index may be null. */
final class SeparateCreators implements ColumnCreators {
  private final boolean _isEncoded;
  private final ForwardIndexCreator _forward;
  DictionaryBasedInvertedIndexCreator _inverted;
  CombinedInvertedIndexCreator _range;
  BloomFilterCreator _bloom;
  TextIndexCreator _text;
  JsonIndexCreator _json;
  GeoSpatialIndexCreator _geo;
  NullValueVectorCreator _nulls;
  /** The text that the forward index of a column with a text index has instead of each value; null for the value. */
  String _rawText;

  SeparateCreators(boolean isEncoded, ForwardIndexCreator forward) {
    _isEncoded = isEncoded;
    _forward = forward;
  }

  @Override
  public boolean isEncoded() {
    return _isEncoded;
  }

  @Override
  public boolean takesValues() {
    return _bloom != null || _text != null || _json != null || _geo != null;
  }

  @Override
  public void addIds(int[] ids, int count)
      throws IOException {
    for (int i = 0; i < count; i++) {
      _forward.putDictId(ids[i]);
    }
    for (int i = 0; _inverted != null && i < count; i++) {
      _inverted.add(ids[i]);
    }
    for (int i = 0; _range != null && i < count; i++) {
      _range.add(ids[i]);
    }
  }

  @Override
  public void addValues(Object[] valueOfId, int[] ids, int count)
      throws IOException {
    for (int i = 0; i < count; i++) {
      addToOthers(valueOfId[ids[i]]);
    }
  }

  private void addToOthers(Object value)
      throws IOException {
    if (_bloom != null) {
      _bloom.add(value.toString());
    }
    if (_text != null) {
      _text.add((String) value);
    }
    if (_json != null) {
      _json.add((String) value);
    }
    if (_geo != null) {
      _geo.add(GeometrySerializer.deserialize((byte[]) value));
    }
  }

  private void addToOthers(Object[] values) {
    for (int i = 0; _bloom != null && i < values.length; i++) {
      _bloom.add(values[i].toString());
    }
    if (_text != null) {
      _text.add(strings(values), values.length);
    }
  }

  @Override
  public void addRow(Object[] values, int[] ids)
      throws IOException {
    _forward.putDictIdMV(ids);
    if (_inverted != null) {
      _inverted.add(ids, ids.length);
    }
    if (_range != null) {
      _range.add(ids, ids.length);
    }
    if (values != null) {
      addToOthers(values);
    }
  }

  @Override
  public void addRaw(int[] values, int count)
      throws IOException {
    for (int i = 0; i < count; i++) {
      _forward.putInt(values[i]);
    }
    for (int i = 0; _range != null && i < count; i++) {
      _range.add(values[i]);
    }
    for (int i = 0; takesValues() && i < count; i++) {
      addToOthers(values[i]);
    }
  }

  @Override
  public void addRaw(long[] values, int count)
      throws IOException {
    for (int i = 0; i < count; i++) {
      _forward.putLong(values[i]);
    }
    for (int i = 0; _range != null && i < count; i++) {
      _range.add(values[i]);
    }
    for (int i = 0; takesValues() && i < count; i++) {
      addToOthers(values[i]);
    }
  }

  @Override
  public void addRaw(float[] values, int count)
      throws IOException {
    for (int i = 0; i < count; i++) {
      _forward.putFloat(values[i]);
    }
    for (int i = 0; _range != null && i < count; i++) {
      _range.add(values[i]);
    }
    for (int i = 0; takesValues() && i < count; i++) {
      addToOthers(values[i]);
    }
  }

  @Override
  public void addRaw(double[] values, int count)
      throws IOException {
    for (int i = 0; i < count; i++) {
      _forward.putDouble(values[i]);
    }
    for (int i = 0; _range != null && i < count; i++) {
      _range.add(values[i]);
    }
    for (int i = 0; takesValues() && i < count; i++) {
      addToOthers(values[i]);
    }
  }

  @Override
  public void addRaw(Object value)
      throws IOException {
    if (_range != null) {
      throw new IllegalStateException("Pinot has no range index for such values without a dictionary");
    }
    addToOthers(value);
    Object stored = _text != null && _rawText != null ? _rawText : value;
    if (stored instanceof String) {
      _forward.putString((String) stored);
    } else if (stored instanceof BigDecimal) {
      _forward.putBigDecimal((BigDecimal) stored);
    } else {
      _forward.putBytes((byte[]) stored);
    }
  }

  @Override
  public void addRaw(Object[] values)
      throws IOException {
    addToOthers(values);
    boolean isDummy = _text != null && _rawText != null;
    switch (_forward.getValueType().getStoredType()) {
      case INT:
        int[] ints = new int[values.length];
        for (int i = 0; i < ints.length; i++) {
          ints[i] = (Integer) values[i];
        }
        if (_range != null) {
          _range.add(ints, ints.length);
        }
        _forward.putIntMV(ints);
        break;
      case LONG:
        long[] longs = new long[values.length];
        for (int i = 0; i < longs.length; i++) {
          longs[i] = (Long) values[i];
        }
        if (_range != null) {
          _range.add(longs, longs.length);
        }
        _forward.putLongMV(longs);
        break;
      case FLOAT:
        float[] floats = new float[values.length];
        for (int i = 0; i < floats.length; i++) {
          floats[i] = (Float) values[i];
        }
        if (_range != null) {
          _range.add(floats, floats.length);
        }
        _forward.putFloatMV(floats);
        break;
      case DOUBLE:
        double[] doubles = new double[values.length];
        for (int i = 0; i < doubles.length; i++) {
          doubles[i] = (Double) values[i];
        }
        if (_range != null) {
          _range.add(doubles, doubles.length);
        }
        _forward.putDoubleMV(doubles);
        break;
      case STRING:
        _forward.putStringMV(isDummy ? new String[]{_rawText} : strings(values));
        break;
      default:
        byte[][] bytes = new byte[values.length][];
        for (int i = 0; i < bytes.length; i++) {
          bytes[i] = (byte[]) values[i];
        }
        _forward.putBytesMV(isDummy ? new byte[][]{_rawText.getBytes(StandardCharsets.UTF_8)} : bytes);
    }
  }

  private static String[] strings(Object[] values) {
    String[] strings = new String[values.length];
    for (int i = 0; i < strings.length; i++) {
      strings[i] = (String) values[i];
    }
    return strings;
  }

  @Override
  public void setNull(int row) {
    if (_nulls != null) {
      _nulls.setNull(row);
    }
  }
}
