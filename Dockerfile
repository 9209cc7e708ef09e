# Two stages: the build bundles the packages that Storeferry uses, so the image holds no node_modules.

FROM node:24.21.0-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY rolldown.config.ts ./
COPY src ./src
RUN npm run build

FROM node:24.21.0-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/dist ./dist
COPY package.json LICENSE stores.yaml ./
COPY mappings ./mappings
COPY jobs ./jobs
COPY docs ./docs
# Named volumes take over who owns the folder they are mounted on.
RUN chmod 755 dist/cli/main.js \
 && ln -s /app/dist/cli/main.js /usr/local/bin/storeferry \
 && mkdir /workspace /data \
 && chown node:node /workspace /data
USER node
WORKDIR /workspace
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9464/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["storeferry"]
CMD ["worker", "--listen", "9464"]
