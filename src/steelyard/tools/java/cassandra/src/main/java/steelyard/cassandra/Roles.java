package steelyard.cassandra;

import java.io.IOException;

/** Takes the well-known password out of a ring: a role of ours instead, and the default one locked. Makes the keyspaces. */
final class Roles {
  private static final String DEFAULT = "cassandra";

  private final Settings settings;
  private final String address;

  Roles(Settings settings, String address) {
    this.settings = settings;
    this.address = address;
  }

  /** A ring that comes back with its data has our role already, and the default one may not log in. */
  void secure() throws IOException {
    if (!admits(Settings.USER, settings.secret("client"))) {
      create();
    }
    try (Cql ours = login()) {
      ours.run("ALTER ROLE " + DEFAULT + with("locked") + " AND SUPERUSER = false AND LOGIN = false");
      for (String keyspace : settings.keyspaces()) {
        ours.run("CREATE KEYSPACE IF NOT EXISTS " + keyspace + " WITH replication = " + settings.replication());
      }
    }
  }

  /** Throws when the well-known password still opens the door. */
  void check() throws IOException {
    if (admits(DEFAULT, DEFAULT)) {
      throw new IOException("the role " + DEFAULT + " can still log in");
    }
  }

  private boolean admits(String user, String password) {
    try {
      new Cql(address, settings.nativePort(), user, password).close();
      return true;
    } catch (IOException error) {
      return false;
    }
  }

  private void create() throws IOException {
    try (Cql standard = new Cql(address, settings.nativePort(), DEFAULT, DEFAULT)) {
      if (!settings.auth().isEmpty()) {  // first, as a role is written where each data centre is known
        standard.run("ALTER KEYSPACE system_auth WITH replication = " + settings.auth());
      }
      standard.run("CREATE ROLE IF NOT EXISTS " + Settings.USER + with("client") + " AND SUPERUSER = true AND LOGIN = true");
    }
  }

  private Cql login() throws IOException {
    return new Cql(address, settings.nativePort(), Settings.USER, settings.secret("client"));
  }

  private String with(String secret) {
    return " WITH PASSWORD = '" + settings.secret(secret).replace("'", "''") + "'";
  }
}
