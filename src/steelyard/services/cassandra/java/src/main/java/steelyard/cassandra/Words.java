package steelyard.cassandra;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.antlr.runtime.ANTLRStringStream;
import org.antlr.runtime.CommonTokenStream;
import org.antlr.runtime.Token;
import org.apache.cassandra.cql3.CqlLexer;

/**
 * The words of a statement, as Cassandra's own lexer parts them, and the code that they name: classes of Java, which
 * Cassandra would load, and functions that mask a column.
 */
final class Words {
  private static final Set<String> KEYS = Set.of("class", "class_name", "analyzer_class", "sstable_compression");
  private static final Map<String, String> PAIRS = Map.of("(", ")", "<", ">", "{", "}");
  private static final Pattern DOTTED = Pattern.compile("[^\\s(),:=<>]*\\.[^\\s(),:=<>]*");
  private static final Pattern OWN =
      Pattern.compile("org\\.apache\\.cassandra\\.(locator|db\\.compaction|io\\.compress|index|db\\.marshal)\\.[\\w.]+");

  private final List<? extends Token> tokens;

  private Words(List<? extends Token> tokens) {
    this.tokens = tokens;
  }

  static Words of(String statement) {
    CommonTokenStream stream = new CommonTokenStream(new CqlLexer(new ANTLRStringStream(statement)));
    stream.fill();
    return new Words(stream.getTokens().stream().filter(token -> token.getChannel() == Token.DEFAULT_CHANNEL).toList());
  }

  /** What of it is not Cassandra's own. */
  List<String> faults() {
    List<String> found = new ArrayList<>();
    Deque<String> open = new ArrayDeque<>();
    for (int place = 0; place < tokens.size(); place++) {
      String sign = sign(place);
      if (is(place, CqlLexer.STRING_LITERAL) && namesClass(place, open.peek())) {
        foreign(text(place), found);
      } else if (PAIRS.containsKey(sign)) {
        open.push(sign);
      } else if (!open.isEmpty() && sign.equals(PAIRS.get(open.peek()))) {
        open.pop();
      } else if (is(place, CqlLexer.K_MASKED)) {
        mask(place + 2, found);
      }
    }
    return found;
  }

  /**
   * Whether a text names a class: of an index, a strategy, or a type. Else it is compared with something, in a map, or among
   * the values or arguments in parentheses behind a word; behind a sign they have the type of what follows.
   */
  private boolean namesClass(int place, String open) {
    return switch (sign(place - 1)) {
      case ":" -> KEYS.contains(text(place - 2).toLowerCase());
      case "=", "!=", ">", ">=", "<=", "{" -> false;
      case "," -> "<".equals(open);
      case "(" -> !sign(place - 2).isEmpty();
      default -> true;
    };
  }

  /** A name without dots is looked for among Cassandra's own. */
  private static void foreign(String text, List<String> found) {
    Matcher names = DOTTED.matcher(text);
    while (names.find()) {
      if (!OWN.matcher(names.group()).matches()) {
        found.add("names the class " + names.group() + ", which is no strategy, index or type of Cassandra's own");
      }
    }
  }

  /** The function's name, and its keyspace before that where it has one. */
  private void mask(int place, List<String> found) {
    if (sign(place + 1).equals(".") && !text(place).equalsIgnoreCase("system")) {
      found.add("masks a column by " + text(place) + "." + text(place + 2) + ", a function, and snapshots keep none");
    }
  }

  private boolean is(int place, int type) {
    return place >= 0 && place < tokens.size() && tokens.get(place).getType() == type;
  }

  /** Empty for a word, also for one in quotes that looks like a sign. */
  private String sign(int place) {
    boolean quoted = is(place, CqlLexer.QUOTED_NAME) || is(place, CqlLexer.STRING_LITERAL);
    return quoted || Character.isLetter((text(place) + " ").charAt(0)) ? "" : text(place);
  }

  private String text(int place) {
    return place < 0 || place >= tokens.size() ? "" : String.valueOf(tokens.get(place).getText());
  }
}
