package steelyard.cassandra;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.cassandra.tools.NodeTool;

/**
 * {@code Nodetool DIRECTORY ADDRESS WORD...}: Cassandra's own nodetool, of a ring whose watch has its files in this directory.
 *
 * <p>By itself nodetool takes keys from key stores alone, and passwords from command lines or files of another form.
 */
public final class Nodetool {
  private Nodetool() {}

  public static void main(String[] words) throws Exception {
    Settings settings = Settings.begin(Path.of(words[0]));
    String port = Integer.toString(settings.jmxPort());
    List<String> found = new ArrayList<>(List.of("-h", words[1], "-p", port));
    found.addAll(List.of("-u", Settings.USER, "-pw", settings.secret("jmx")));
    found.addAll(Arrays.asList(words).subList(2, words.length));
    NodeTool.main(found.toArray(String[]::new));
  }
}
