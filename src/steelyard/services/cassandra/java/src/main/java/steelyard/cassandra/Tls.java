package steelyard.cassandra;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Who a program of a ring is, and whom it believes: {@code identity.pem}, a key of an elliptic curve with its certificate, and
 * {@code authority.pem}, the certificate of the ring's authority.
 *
 * <p>Java itself reads no keys as PEM, and its key stores are made by a program of its own.
 */
final class Tls {
  static final String PROTOCOL = "TLSv1.3";
  private static final char[] NONE = {};

  private Tls() {}

  static SSLContext of(Path directory) throws IOException, GeneralSecurityException {
    String identity = Files.readString(directory.resolve("identity.pem"));
    Certificate authority = certificate(Files.readString(directory.resolve("authority.pem")));
    KeyStore store = KeyStore.getInstance("JKS");  // in memory alone: the kind that hashes no password a thousand times
    store.load(null, NONE);
    store.setCertificateEntry("authority", authority);
    store.setKeyEntry("identity", key(identity), NONE, new Certificate[] {certificate(identity), authority});
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, NONE);
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext found = SSLContext.getInstance(PROTOCOL);
    found.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return found;
  }

  private static PrivateKey key(String pem) throws GeneralSecurityException {
    return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(block(pem, "PRIVATE KEY")));
  }

  private static Certificate certificate(String pem) throws GeneralSecurityException {
    return CertificateFactory.getInstance("X.509")
        .generateCertificate(new ByteArrayInputStream(block(pem, "CERTIFICATE")));
  }

  /** The first of a kind. */
  private static byte[] block(String pem, String kind) {
    String begin = "-----BEGIN " + kind + "-----";
    int from = pem.indexOf(begin) + begin.length();
    return Base64.getMimeDecoder().decode(pem.substring(from, pem.indexOf("-----END " + kind, from)));
  }
}
