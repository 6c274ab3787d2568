package io.pinotplugins.rows;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.apache.pinot.spi.data.readers.GenericRow;
import org.apache.pinot.spi.data.readers.RecordReader;
import org.apache.pinot.spi.data.readers.RecordReaderConfig;
import org.apache.pinot.spi.data.readers.RecordReaderUtils;

/** Reads JSON objects one after the other, or an array of them. */
public final class JsonRows implements RecordReader {
  private final File _file;
  private final Set<String> _fields;
  private final Set<String> _texts;
  private InputStream _stream;
  private JsonParser _parser;
  private boolean _isInArray;
  /** Whether the parser is at the beginning of the next row. */
  private boolean _isAtRow;

  /**
   * @param file UTF-8, possibly gzipped
   * @param fields the keys to read; all if there are none
   * @param texts those of which lists and objects are passed on as JSON
   */
  public JsonRows(File file, Set<String> fields, Set<String> texts)
      throws IOException {
    _file = file;
    _fields = fields;
    _texts = texts;
    open();
  }

  private void open()
      throws IOException {
    _stream = RecordReaderUtils.getBufferedInputStream(_file);
    // Of bytes, Jackson 2.21 refuses keys with an escaped pair of surrogates.
    _parser = JsonValues.FACTORY.createParser(new InputStreamReader(_stream, StandardCharsets.UTF_8));
    _isInArray = false;
    _isAtRow = false;
    hasNext(); // fails if the file is not JSON
  }

  @Override
  public boolean hasNext() {
    try {
      if (!_isAtRow) {
        JsonToken token = _parser.nextToken();
        if (token == JsonToken.START_ARRAY && !_isInArray) {
          _isInArray = true;
          token = _parser.nextToken();
        }
        if (token == null || token == JsonToken.END_ARRAY) {
          return false;
        }
        if (token != JsonToken.START_OBJECT) {
          throw new JsonParseException(_parser, "a row is not a JSON object");
        }
        _isAtRow = true;
      }
      return true;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public GenericRow next(GenericRow row)
      throws IOException {
    hasNext();
    _isAtRow = false;
    row.clear();
    while (_parser.nextToken() != JsonToken.END_OBJECT) {
      String key = _parser.getCurrentName();
      JsonToken token = _parser.nextToken();
      if (_fields.isEmpty() || _fields.contains(key)) {
        if (row.getFieldToValueMap().containsKey(key)) {
          throw JsonValues.twice(_parser, key);
        }
        row.putValue(key, value(key, token));
      } else {
        _parser.skipChildren();
      }
    }
    return row;
  }

  private Object value(String key, JsonToken token)
      throws IOException {
    if (token == JsonToken.VALUE_TRUE || token == JsonToken.VALUE_FALSE) {
      return JsonValues.KEEPS_TYPES ? token == JsonToken.VALUE_TRUE : (Object) _parser.getText();
    }
    return token.isStructStart() && _texts.contains(key) ? JsonText.copied(_parser) : JsonValues.current(_parser);
  }

  @Override
  public GenericRow next()
      throws IOException {
    return next(new GenericRow());
  }

  @Override
  public void init(File file, Set<String> fields, RecordReaderConfig config) {
  }

  @Override
  public void rewind()
      throws IOException {
    close();
    open();
  }

  @Override
  public void close()
      throws IOException {
    _parser.close();
    _stream.close();
  }
}
