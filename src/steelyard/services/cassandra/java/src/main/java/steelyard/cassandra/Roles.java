package steelyard.cassandra;

import java.lang.management.ManagementFactory;
import javax.management.ObjectName;
import org.apache.cassandra.auth.AuthenticatedUser;
import org.apache.cassandra.auth.IRoleManager.Option;
import org.apache.cassandra.auth.RoleOptions;
import org.apache.cassandra.auth.RoleResource;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.db.ConsistencyLevel;

/** See {@link RolesMBean}. */
public final class Roles implements RolesMBean {
  static final String NAME = "steelyard:type=Roles";

  static void register() throws Exception {
    ManagementFactory.getPlatformMBeanServer().registerMBean(new Roles(), new ObjectName(NAME));
  }

  @Override
  public void create(String user, String password) {
    RoleOptions options = new RoleOptions();
    options.setOption(Option.SUPERUSER, true);
    options.setOption(Option.LOGIN, true);
    options.setOption(Option.PASSWORD, password);
    DatabaseDescriptor.getRoleManager().createRole(AuthenticatedUser.SYSTEM_USER, RoleResource.role(user), options);
  }

  @Override
  public void define(String statement) {
    QueryProcessor.process(statement, ConsistencyLevel.QUORUM);
  }
}
