// OpenSSL 3, and one-line functions for the macros that Swift cannot see.
#ifndef COPENSSL_H
#define COPENSSL_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/pkcs12err.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline long copenssl_set_server_name(SSL *ssl, const char *name) {
  return SSL_set_tlsext_host_name(ssl, name);
}

static inline long copenssl_set_min_proto_version(SSL_CTX *context, int version) {
  return SSL_CTX_set_min_proto_version(context, version);
}

static inline long copenssl_set_mode(SSL_CTX *context, long mode) {
  return SSL_CTX_set_mode(context, mode);
}

static inline size_t copenssl_bio_pending(BIO *bio) { return BIO_ctrl_pending(bio); }

static inline long copenssl_bio_data(BIO *bio, char **data) { return BIO_get_mem_data(bio, data); }

static inline EVP_PKEY *copenssl_generate_p256(void) { return EVP_EC_gen("P-256"); }

static inline EVP_PKEY *copenssl_generate_rsa(unsigned int bits) { return EVP_RSA_gen(bits); }

// Adds an extension to a certificate in the making; `issuer` is the certificate of its signer.
// 1 for success. The extension machinery wants a context of macros and a configuration object.
static inline int copenssl_add_extension(X509 *certificate, X509 *issuer, int nid,
                                         const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
  if (extension == NULL) return 0;
  int added = X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return added;
}

static const uint64_t copenssl_no_renegotiation = SSL_OP_NO_RENEGOTIATION;
static const uint64_t copenssl_no_compression = SSL_OP_NO_COMPRESSION;
static const uint64_t copenssl_ignore_unexpected_eof = SSL_OP_IGNORE_UNEXPECTED_EOF;
static const long copenssl_release_buffers = SSL_MODE_RELEASE_BUFFERS;
static const long copenssl_partial_write = SSL_MODE_ENABLE_PARTIAL_WRITE;
static const long copenssl_moving_write_buffer = SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;

#endif
