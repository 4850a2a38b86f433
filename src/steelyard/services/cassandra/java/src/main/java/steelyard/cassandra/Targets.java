package steelyard.cassandra;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** Directories by the address of a node, from words as {@code 10.0.0.1=/tmp/x}. */
final class Targets {
  private Targets() {}

  static Map<String, String> of(String[] words, int from) {
    Map<String, String> found = new LinkedHashMap<>();
    for (String word : Arrays.copyOfRange(words, from, words.length)) {
      String[] pair = word.split("=", 2);
      found.put(pair[0], pair[1]);
    }
    return found;
  }
}
