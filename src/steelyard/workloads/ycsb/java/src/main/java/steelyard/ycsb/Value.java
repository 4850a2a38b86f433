package steelyard.ycsb;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;

/** A record as one value: for each field its name and its content, each after its length. */
final class Value {
  private Value() {}

  static Map<String, byte[]> contents(Map<String, ByteIterator> fields) {
    Map<String, byte[]> found = new HashMap<>();
    fields.forEach((name, content) -> found.put(name, content.toArray()));
    return found;
  }

  static byte[] packed(Map<String, byte[]> fields) {
    int size = 0;
    for (Map.Entry<String, byte[]> field : fields.entrySet()) {
      size += 2 * Integer.BYTES + field.getKey().getBytes(UTF_8).length + field.getValue().length;
    }
    ByteBuffer buffer = ByteBuffer.allocate(size);
    fields.forEach((name, content) -> {
      put(buffer, name.getBytes(UTF_8));
      put(buffer, content);
    });
    return buffer.array();
  }

  static Map<String, ByteIterator> unpacked(byte[] value) {
    ByteBuffer buffer = ByteBuffer.wrap(value);
    Map<String, ByteIterator> found = new HashMap<>();
    while (buffer.hasRemaining()) {
      String name = new String(taken(buffer), UTF_8);
      found.put(name, new ByteArrayByteIterator(taken(buffer)));
    }
    return found;
  }

  private static void put(ByteBuffer buffer, byte[] content) {
    buffer.putInt(content.length).put(content);
  }

  private static byte[] taken(ByteBuffer buffer) {
    byte[] content = new byte[buffer.getInt()];
    buffer.get(content);
    return content;
  }
}
