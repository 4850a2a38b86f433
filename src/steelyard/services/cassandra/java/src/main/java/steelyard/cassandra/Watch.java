package steelyard.cassandra;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import javax.management.InstanceNotFoundException;
import javax.management.JMRuntimeException;

/**
 * {@code Watch DIRECTORY}: asks every node of a ring again and again what it sees, and writes it to {@code state.json}.
 *
 * <p>Once every node sees every node it makes what clients need (see {@link RolesMBean}); only then do the nodes listen to
 * them, also later ones and those that come back. It ends when it is ended.
 */
public final class Watch {
  private final Path directory;
  private final Map<String, Report> reports = new ConcurrentHashMap<>();
  private final Map<String, String> troubles = new ConcurrentHashMap<>();
  private final Map<String, Thread> askers = new ConcurrentHashMap<>();
  private volatile Settings settings;
  private volatile boolean made;

  private Watch(Path directory) throws Exception {
    this.directory = directory;
    this.settings = Settings.begin(directory);
  }

  public static void main(String[] words) throws Exception {
    new Watch(Path.of(words[0])).run();
  }

  private void run() throws Exception {
    while (true) {
      settings = Settings.read(directory);
      reports.keySet().retainAll(settings.addresses());
      settings.addresses().forEach(this::ask);
      if (!made && complete()) {
        make();
      }
      write();
      Thread.sleep(settings.interval());
    }
  }

  /** Every node has a thread of its own, so that one that hangs holds up no other. */
  private void ask(String address) {
    askers.computeIfAbsent(address, found -> {
      Thread thread = new Thread(() -> follow(found), "asks " + found);
      thread.setDaemon(true);
      thread.start();
      return thread;
    });
  }

  private void follow(String address) {
    while (settings.addresses().contains(address)) {
      try (Management node = new Management(address, settings)) {
        while (settings.addresses().contains(address)) {
          tryToLook(address, node);
          Thread.sleep(settings.interval());
        }
      } catch (Exception error) {
        reports.remove(address);
        complain(address, error);
        pause();
      }
    }
    askers.remove(address);
  }

  /** One that is not far enough is asked again over the same connection: each new one costs it a login. */
  private void tryToLook(String address, Management node) throws Exception {
    try {
      look(address, node);
    } catch (InstanceNotFoundException | JMRuntimeException | IllegalStateException error) {
      reports.remove(address);
      complain(address, error);
    }
  }

  private void look(String address, Management node) throws Exception {
    long generation = settings.generation();
    Report found = Report.of(node, generation);
    if (made && found.normal() && !found.open()) {
      node.openForClients();
      found = Report.of(node, generation);
    }
    reports.put(address, found);
    troubles.remove(address);
  }

  private boolean complete() {
    return settings.addresses().stream()
        .map(reports::get)
        .allMatch(report -> report != null && report.sees(settings.addresses()));
  }

  private void make() {
    try (Management node = new Management(settings.addresses().get(0), settings)) {
      if (!settings.auth().isEmpty()) {  // first, as a role is written where each data centre is known
        node.define("ALTER KEYSPACE system_auth WITH replication = " + settings.auth());
      }
      node.createRole(Settings.USER, settings.secret("client"));
      for (String keyspace : settings.keyspaces()) {
        node.define("CREATE KEYSPACE IF NOT EXISTS " + keyspace + " WITH replication = " + settings.replication());
      }
      made = true;
    } catch (Exception error) {
      complain("roles", error);
    }
  }

  /** Into the log, once; most are of nodes that are not up yet. */
  private void complain(String about, Exception error) {
    String text = String.valueOf(error);
    if (!text.equals(troubles.put(about, text))) {
      System.err.println(about + ": " + text);
    }
  }

  private void pause() {
    try {
      Thread.sleep(settings.interval());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  /** Aside first: whoever reads it finds it whole. */
  private void write() throws Exception {
    Path aside = directory.resolve("state.new");
    Files.writeString(aside, Json.of(Map.of("nodes", reports)));
    Files.move(aside, directory.resolve("state.json"), StandardCopyOption.ATOMIC_MOVE);
  }
}
