package steelyard.cassandra;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes JSON. */
final class Json {
  private Json() {}

  static String of(Object value) {
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(entry -> of(entry.getKey()) + ":" + of(entry.getValue()))
          .collect(Collectors.joining(",", "{", "}"));
    }
    if (value instanceof Collection<?> list) {
      return list.stream().map(Json::of).collect(Collectors.joining(",", "[", "]"));
    }
    if (value instanceof Report report) {
      return of(fields(report));
    }
    return value instanceof String text ? quoted(text) : String.valueOf(value);
  }

  private static Map<String, Object> fields(Report report) {
    Map<String, Object> found = new LinkedHashMap<>(report.views());
    found.put("generation", report.generation());
    found.put("mode", report.mode());
    found.put("schema", report.schema());
    found.put("open", report.open());
    found.put("meters", report.meters());
    return found;
  }

  private static String quoted(String text) {
    StringBuilder found = new StringBuilder("\"");
    for (char one : text.toCharArray()) {
      boolean plain = one >= ' ' && one != '"' && one != '\\';
      found.append(plain ? String.valueOf(one) : String.format("\\u%04x", (int) one));
    }
    return found.append('"').toString();
  }
}
