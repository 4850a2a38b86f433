package steelyard.cassandra;

/** What is to be in a ring before it lets clients in. Nobody can log in until then, as a new ring has no role. */
public interface RolesMBean {
  /** The role of clients is a superuser, and this is its password; also where the ring has it already. */
  void create(String user, String password);

  /** Runs one statement, with no limits. */
  void define(String statement);
}
