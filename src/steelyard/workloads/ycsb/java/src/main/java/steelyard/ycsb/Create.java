package steelyard.ycsb;

import java.util.Properties;

/** {@code create -db CLASS -p NAME=VALUE ...}: makes the table and empties it, before any client loads. */
public final class Create {
  private Create() {}

  public static void main(String[] words) {
    try {
      Binding binding = Binding.of(properties(words));
      binding.init();
      binding.create();
      binding.cleanup();
    } catch (Exception error) {
      System.err.println("cannot make an empty table: " + Binding.reason(error));
      System.exit(1);
    }
  }

  private static Properties properties(String[] words) {
    Properties found = new Properties();
    for (int at = 0; at + 1 < words.length; at += 2) {
      String[] pair = words[at].equals("-p") ? words[at + 1].split("=", 2) : named(words[at], words[at + 1]);
      found.setProperty(pair[0], pair[1]);
    }
    return found;
  }

  private static String[] named(String option, String value) {
    return new String[] {option.substring(1), value};
  }
}
