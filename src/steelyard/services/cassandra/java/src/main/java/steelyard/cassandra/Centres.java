package steelyard.cassandra;

import java.util.Arrays;
import java.util.List;

/**
 * The two data centres of a ring.
 *
 * @param nodes of the one that clients use, how many it has
 * @param copies of each row in the mirror
 * @param addresses of the mirror's nodes
 */
record Centres(String main, int nodes, String mirror, int copies, List<String> addresses) {

  /** From words as {@code datacenter1=3 mirror=1 10.0.0.4 10.0.0.5}. */
  static Centres of(String[] words, int from) {
    String[] main = words[from].split("=", 2);
    String[] mirror = words[from + 1].split("=", 2);
    List<String> addresses = List.of(Arrays.copyOfRange(words, from + 2, words.length));
    return new Centres(main[0], Integer.parseInt(main[1]), mirror[0], Integer.parseInt(mirror[1]), addresses);
  }

  /**
   * Nodes of the mirror that hold, together, every row that each of them keeps so often: a row that none of them had would
   * be on the others only, which are fewer than its copies.
   */
  List<String> holdingAll(int each) {
    int kept = Math.max(1, Math.min(each, addresses.size()));
    return addresses.subList(0, addresses.size() - kept + 1);
  }
}
